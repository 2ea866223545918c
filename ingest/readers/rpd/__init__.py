"""Databases of rocmProfileData (`.rpd`), which record ROCm."""

"""Results of rocprofv3 as JSON, which record ROCm."""

"""Ranks in short: of which only operations with other ranks are kept, and which ranks are kept in full."""

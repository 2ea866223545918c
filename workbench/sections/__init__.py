"""What a report is made of: a module a section, found by itself, which every renderer can show."""

"""What a report asks of a whole run, answered from the columns with the rows that the stored graph gives."""

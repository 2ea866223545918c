"""The files of a report: the page, tables, the summary and the overlay."""

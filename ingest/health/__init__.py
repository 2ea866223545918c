"""How a job is: measures of its files that need no graph of the whole job and no database."""

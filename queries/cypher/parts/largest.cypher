// The largest sums of name, category, duration_ns and count, with their shares.
WITH name, category, duration_ns, count ORDER BY duration_ns DESC, name, category LIMIT $limit
WITH collect({name: name, category: category, duration_ns: duration_ns, count: count}) AS listed
WITH listed, reduce(total = 0, row IN listed | total + row.duration_ns) AS total
UNWIND listed AS row
RETURN row.name AS name, row.category AS category, row.duration_ns AS duration_ns,
  toFloat(row.duration_ns) / total AS proportion,
  toFloat(row.duration_ns) / ($end_ns - $start_ns) AS prop_in_total, row.count AS count
ORDER BY duration_ns DESC, name, category

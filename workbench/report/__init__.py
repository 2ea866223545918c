"""What a report says: findings, recommendations, and what they are asked from."""

"""Every write and every read that crosses aggregates: verb-named, keyword-only, one transaction each."""

"""The RDF store behind SPARQL: engines, the gate before them, and the process that they run in."""

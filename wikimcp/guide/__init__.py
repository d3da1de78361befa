"""What helps an agent use the tools: instructions, resources, prompts, completions."""

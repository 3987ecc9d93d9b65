from reviews.demo.script import Script
MARLOW = Script(slug="marlow", name="x", identifier_keys=(), tool_trigger_keywords={}, mode="observe", refuse_min_confidence=.8, users=(), models={}, tools={}, agent_tools={}, memory_nodes=(), channels=("x",), scenarios=())

"""Why a job is pending and the least that helps: edits of cluster and job, tried by running the policy again."""

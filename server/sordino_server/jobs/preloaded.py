"""What the process that forks others has imported: of planning and of searches, whichever comes first."""

PRELOADED = (
    "sordino_server.jobs.planning_process",
    "sordino_server.jobs.search_process",
    "sordino_server.answers.next_step",
    "sordino_analysis.planning.linear_request",
    "sordino_analysis.pairwise.pairwise_request",
    "sordino_analysis.kinds.strings_document",
)

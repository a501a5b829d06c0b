"""Answer the questions of agents: tools of the Model Context Protocol over an open release.

``catalog`` declares the tools, ``tools`` has the function of each, ``answer`` what their answers
have in common, and ``server`` speaks the protocol.
"""

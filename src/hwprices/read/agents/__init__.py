"""Answer the questions of agents: tools of the Model Context Protocol over an open release.

``catalog`` declares the tools, ``tools`` has their functions, ``answer`` builds answers, and
``server`` speaks the protocol.
"""

"""Answer the questions of agents: tools of the Model Context Protocol over an open release.

``tools`` declares the tools, ``answer`` what their answers have in common, ``server`` speaks the
protocol, ``clients`` knows how programs are told of the server.
"""

"""What a device does for one value, for many at once, with numpy: draw reports, check them, encode values.

From the same bytes of randomness a device and this draw the same payload, subsets aside, whose law is the same. The
server checks uploads with it, analysts simulate with it. It imports numpy and `sordino_shared`, nothing else.
"""

"""Whether payloads that somebody's sampler drew follow the law that a device part states.

The laws are written down from the definitions in docs/protocol.md and read the fields of the device part alone: nothing
here calls what draws the payloads, so that an error in a sampler is not repeated in its test.
"""

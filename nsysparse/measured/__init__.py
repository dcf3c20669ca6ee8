"""What a bandwidth benchmark measured: its output, read with doubt, and the ceiling that it proves.

One module per tool knows how that tool prints, `loader` finds out which tool wrote a file, and `commands` says what to
run where nothing was measured yet.
"""

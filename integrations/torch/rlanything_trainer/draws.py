"""The run's random numbers: Threefry-2x32-20 (Salmon et al., SC'11), so that samples come in the order that the run would take."""

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_WORD = 0xFFFFFFFF


def threefry(key, counter):
    """One block: two unsigned 32-bit words for (key, counter), both of two such words."""
    k0, k1 = key
    schedule = (k0, k1, 0x1BD11BDA ^ k0 ^ k1)
    x0, x1 = (counter[0] + k0) & _WORD, (counter[1] + k1) & _WORD
    for number in range(20):
        bits = _ROTATIONS[number % 8]
        x0 = (x0 + x1) & _WORD
        x1 = ((x1 << bits | x1 >> (32 - bits)) & _WORD) ^ x0
        if number % 4 == 3:
            injection = (number + 1) // 4
            x0 = (x0 + schedule[injection % 3]) & _WORD
            x1 = (x1 + schedule[(injection + 1) % 3] + injection) & _WORD
    return x0, x1


def shuffled(seed, items):
    """A copy in random order (Fisher-Yates), the same for the same seed."""
    words = (word for counter in range(2**32) for word in threefry(seed, (counter, 0)))

    def below(n):
        return int(((next(words) >> 5) * 2**26 + (next(words) >> 6)) / 2**53 * n)

    copy = list(items)
    for i in range(len(copy) - 1, 0, -1):
        j = below(i + 1)
        copy[i], copy[j] = copy[j], copy[i]
    return copy

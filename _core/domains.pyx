def placeholder():
    return 0

package dev.verbena.bench;

/** Does nothing. */
final class Empty {
    private Empty() {}

    /** Takes no arguments. */
    public static void main(String[] args) {}
}

package dev.verbena.bench;

/** The loops in C with other queues than the twin that it is compared with. */
final class InC extends Subject {
    private final Twin twin;

    InC(Twin twin) {
        this.twin = twin;
    }

    @Override
    long turn(long id) {
        throw new UnsupportedOperationException("C takes whole rounds");
    }

    @Override
    long posts(long id) {
        return turn(id);
    }

    @Override
    long takes(long id) {
        return turn(id);
    }

    @Override
    long run(int operations) {
        return twin.run(operations);
    }

    @Override
    long half(boolean posts, long from, int operations) {
        return twin.half(posts, from, operations);
    }
}

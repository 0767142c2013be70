package dev.verbena.bench;

/**
 * The frames of a program between its loop and its posts and polls. C2 inlines fifteen levels, and the JDK's own take many
 * of them: the deeper the caller is, the less of a call is inlined, and the more it costs. Each frame checks its argument,
 * as the layers of a program do. Once inlined, the checks cost nothing, so C needs no frames of its own.
 */
final class Callers implements Work.Loop {
    private final Work.Step step;
    private final int size;
    private final int frames;

    /**
     * Takes a step of a number of operations.
     *
     * @param frames the number of frames between the loop and the library: 4 or 8, of which a step itself has three
     */
    Callers(Work.Step step, int size, int frames) {
        this.step = step;
        this.size = size;
        this.frames = frames;
    }

    @Override
    public long run(int operations) {
        return switch (frames) {
            case 4 -> fromFour(operations);
            case 8 -> fromEight(operations);
            default -> throw new IllegalArgumentException("frames must be 4 or 8, got " + frames);
        };
    }

    private long fromFour(int operations) {
        long bad = 0;
        for (int id = 0; id < operations; id += size) {
            bad += fourth(id);
        }
        return bad;
    }

    private long fromEight(int operations) {
        long bad = 0;
        for (int id = 0; id < operations; id += size) {
            bad += eighth(id);
        }
        return bad;
    }

    private long eighth(long id) {
        check(id);
        return seventh(id);
    }

    private long seventh(long id) {
        check(id);
        return sixth(id);
    }

    private long sixth(long id) {
        check(id);
        return fifth(id);
    }

    private long fifth(long id) {
        check(id);
        return fourth(id);
    }

    private long fourth(long id) {
        check(id);
        return step.once(id);
    }

    private static void check(long id) {
        if (id < 0) {
            throw new IllegalArgumentException("id must not be negative, got " + id);
        }
    }
}

package dev.verbena.bench;

/**
 * The loop of a program, and the frames between the loop and a turn. C2 inlines fifteen levels, and the JDK's own take many
 * of them: the deeper the caller is, the less of a call is inlined, and the more it costs. Each frame checks its argument,
 * as the layers of a program do. Once inlined, the checks cost nothing, so C needs no frames of its own.
 */
final class Loop {
    private static final int SIZE = Subject.SIZE;
    private static final boolean TWO_DRIVERS = Subject.ROW.is(Row.Kind.TWO_DRIVERS);

    private final Subject subject;
    private final Loop second;
    private final int frames;

    /**
     * Takes the subject, and the loop on the second driver, if there is one.
     *
     * @param frames the number of frames between the loop and the library, of which a turn itself has three: 4, 8, or 1 for
     *     a loop that has its objects in local variables, as the loop in C has them in registers
     */
    Loop(Subject subject, Loop second, int frames) {
        this.subject = subject;
        this.second = second;
        this.frames = frames;
    }

    /** Runs a number of operations and returns the number of errors. */
    long run(int operations) {
        return switch (frames) {
            case 1 -> subject.run(operations);
            case 4 -> fromFour(operations);
            case 8 -> fromEight(operations);
            default -> throw new IllegalArgumentException("frames must be 1, 4 or 8, got " + frames);
        };
    }

    /**
     * Posts, or polls, for a number of operations from an id on, and returns the number of errors. Frames are those of
     * {@link #run}.
     */
    long half(boolean posts, long from, int operations) {
        if (frames == 1) {
            return subject.half(posts, from, operations);
        }
        long bad = 0;
        for (long id = from; id < from + operations; id += SIZE) {
            if (posts) {
                bad += frames == 8 ? eighthPost(id) : fourthPost(id);
            } else {
                bad += frames == 8 ? eighthTake(id) : fourthTake(id);
            }
        }
        return bad;
    }

    private long fromFour(int operations) {
        long bad = 0;
        for (int id = 0; id < operations; id += SIZE) {
            bad += fourth(id);
            if (TWO_DRIVERS) {
                id += SIZE;
                bad += second.fourth(id);
            }
        }
        return bad;
    }

    private long fromEight(int operations) {
        long bad = 0;
        for (int id = 0; id < operations; id += SIZE) {
            bad += eighth(id);
            if (TWO_DRIVERS) {
                id += SIZE;
                bad += second.eighth(id);
            }
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
        return subject.turn(id);
    }

    private long eighthPost(long id) {
        check(id);
        return seventhPost(id);
    }

    private long seventhPost(long id) {
        check(id);
        return sixthPost(id);
    }

    private long sixthPost(long id) {
        check(id);
        return fifthPost(id);
    }

    private long fifthPost(long id) {
        check(id);
        return fourthPost(id);
    }

    private long fourthPost(long id) {
        check(id);
        return subject.posts(id);
    }

    private long eighthTake(long id) {
        check(id);
        return seventhTake(id);
    }

    private long seventhTake(long id) {
        check(id);
        return sixthTake(id);
    }

    private long sixthTake(long id) {
        check(id);
        return fifthTake(id);
    }

    private long fifthTake(long id) {
        check(id);
        return fourthTake(id);
    }

    private long fourthTake(long id) {
        check(id);
        return subject.takes(id);
    }

    private static void check(long id) {
        if (id < 0) {
            throw new IllegalArgumentException("id must not be negative, got " + id);
        }
    }
}

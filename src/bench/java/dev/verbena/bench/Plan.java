package dev.verbena.bench;

import dev.verbena.bench.Case.ArenaKind;
import dev.verbena.bench.Case.Calls;
import dev.verbena.bench.Case.Measure;
import dev.verbena.bench.Case.Profile;
import dev.verbena.bench.Case.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The rows that are measured, in their settings, with their targets. */
final class Plan {
    private static final int PROGRAM_FRAMES = 4;
    private static final int DEEP = 8;

    /** Nanoseconds that an operation may take longer with a shared arena. */
    private static final double SHARED_NANOS = 1.5;

    private Plan() {}

    /** Returns all rows of the full benchmark. */
    static List<Case> full() {
        List<Case> plan = new ArrayList<>();
        for (Profile profile : Profile.values()) {
            plan.add(confined(profile, Row.PROGRAM, PROGRAM_FRAMES));
            plan.addAll(shallow(profile));
            for (int frames : new int[] {PROGRAM_FRAMES, DEEP}) {
                for (Row row : List.of(Row.SINGLE, Row.POST_POLL, Row.BATCH_16_SLICES, Row.RECEIVE, Row.EMPTY_POLL)) {
                    plan.add(confined(profile, row, frames));
                }
                for (Row row : Row.values()) {
                    if (row.is(Row.Kind.TWO_DRIVERS)) {
                        plan.add(confined(profile, row, frames));
                    }
                }
            }
            plan.add(confined(profile, Row.PROGRAM, DEEP));
            plan.addAll(shared(profile));
            plan.add(plain(profile));
            plan.add(withBarrier(profile));
            plan.add(new Case(profile, Row.BATCH_16, ArenaKind.CONFINED, Calls.PLAIN, 1, Target.NONE));
            plan.add(new Case(profile, Row.EMPTY_POLL, ArenaKind.CONFINED, Calls.PLAIN, 1, Target.NONE));
        }
        return plan;
    }

    /** Returns the rows that the tests run. */
    static List<Case> brief() {
        List<Case> plan = new ArrayList<>();
        plan.add(confined(Profile.LEAN, Row.PROGRAM, PROGRAM_FRAMES));
        plan.addAll(shallow(Profile.LEAN));
        for (Row row : List.of(Row.SINGLE, Row.POST_POLL, Row.TWO_DRIVERS, Row.TWO_DRIVERS_SINGLE)) {
            plan.add(confined(Profile.LEAN, row, DEEP));
        }
        plan.addAll(shared(Profile.LEAN));
        plan.add(withBarrier(Profile.LEAN));
        for (Row row : List.of(
                Row.SINGLE,
                Row.POST_POLL,
                Row.BATCH_16_SLICES,
                Row.BATCH_16,
                Row.RECEIVE,
                Row.EMPTY_POLL,
                Row.EXTENDED_QUEUE,
                Row.EXTENDED_PAIR)) {
            plan.add(confined(Profile.MLX5, row, 1));
        }
        plan.add(plain(Profile.MLX5));
        plan.add(withBarrier(Profile.MLX5));
        return plan;
    }

    /** Returns all rows with one driver, with callers of one frame. */
    private static List<Case> shallow(Profile profile) {
        return Stream.of(Row.values())
                .filter(row -> !row.is(Row.Kind.TWO_DRIVERS))
                .map(row -> confined(profile, row, 1))
                .toList();
    }

    private static List<Case> shared(Profile profile) {
        Target target = new Target(Measure.OVER_CONFINED, SHARED_NANOS);
        return Stream.of(Row.POST_POLL, Row.SINGLE, Row.BATCH_16_SLICES, Row.EMPTY_POLL)
                .map(row -> new Case(profile, row, ArenaKind.SHARED, Calls.CRITICAL, 1, target))
                .toList();
    }

    private static Case withBarrier(Profile profile) {
        Target target = Target.ratio(profile == Profile.LEAN ? 1.45 : 1.25);
        return new Case(profile, Row.POST_POLL, ArenaKind.CONFINED, Calls.PLAIN_BARRIER, 1, target);
    }

    private static Case plain(Profile profile) {
        Target target = profile == Profile.LEAN ? new Target(Measure.OVER, 17) : Target.ratio(1.75);
        return new Case(profile, Row.POST_POLL, ArenaKind.CONFINED, Calls.PLAIN, 1, target);
    }

    private static Case confined(Profile profile, Row row, int frames) {
        return new Case(profile, row, ArenaKind.CONFINED, Calls.CRITICAL, frames, target(profile, row, frames));
    }

    private static Target target(Profile profile, Row row, int frames) {
        boolean lean = profile == Profile.LEAN;
        if (row.is(Row.Kind.TWO_DRIVERS)) {
            return new Target(Measure.TO_ONE_DRIVER, 1.05);
        }
        if (frames == DEEP) {
            return switch (row) {
                case POST_POLL -> lean ? Target.ratio(1.45) : Target.NONE;
                case SINGLE, PROGRAM -> lean ? Target.ratio(1.60) : Target.NONE;
                default -> Target.NONE;
            };
        }
        return switch (row) {
            case POST_POLL -> Target.ratio(lean ? 1.25 : 1.10);
            case SINGLE, REBUILT -> Target.ratio(lean ? 1.20 : 1.10);
            case BATCH_16_SLICES -> lean ? Target.ratio(1.25) : Target.NONE;
            case BATCH_16_ONE_QUEUE -> lean ? Target.ratio(1.35) : Target.NONE;
            case BATCH_16 -> Target.ratio(lean ? 1.10 : 1.08);
            case RECEIVE -> Target.ratio(lean ? 1.30 : 1.10);
            case EMPTY_POLL -> Target.ratio(lean ? 1.85 : 1.20);
            case EXTENDED_QUEUE -> Target.ratio(lean ? 1.60 : 1.30);
            case EXTENDED_PAIR -> Target.ratio(lean ? 1.40 : 1.25);
            default -> Target.NONE;
        };
    }
}

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
        plan.add(confined(Row.PROGRAM, PROGRAM_FRAMES));
        plan.addAll(shallow());
        for (int frames : new int[] {PROGRAM_FRAMES, DEEP}) {
            for (Row row : List.of(Row.SINGLE, Row.POST_POLL, Row.BATCH_16_SLICES, Row.RECEIVE, Row.EMPTY_POLL)) {
                plan.add(confined(row, frames));
            }
            for (Row row : Row.values()) {
                if (row.is(Row.Kind.TWO_DRIVERS)) {
                    plan.add(confined(row, frames));
                }
            }
        }
        plan.add(confined(Row.PROGRAM, DEEP));
        plan.addAll(shared());
        plan.add(plain());
        plan.add(withBarrier());
        plan.add(new Case(Profile.LEAN, Row.BATCH_16, ArenaKind.CONFINED, Calls.PLAIN, 1, Target.NONE));
        plan.add(new Case(Profile.LEAN, Row.EMPTY_POLL, ArenaKind.CONFINED, Calls.PLAIN, 1, Target.NONE));
        plan.addAll(mlx5());
        return plan;
    }

    /** Returns the rows on libmlx5. */
    static List<Case> mlx5() {
        List<Case> plan = new ArrayList<>();
        for (ArenaKind arena : ArenaKind.values()) {
            for (int frames : new int[] {1, DEEP}) {
                for (Row row : List.of(
                        Row.POST,
                        Row.POLL,
                        Row.POST_POLL,
                        Row.BATCH_16,
                        Row.INLINE,
                        Row.EXTENDED_PAIR,
                        Row.EXTENDED_QUEUE)) {
                    plan.add(mlx5(row, arena, frames));
                }
            }
            plan.add(mlx5(Row.STEADY_1, arena, 1));
            plan.add(mlx5(Row.STEADY_64, arena, 1));
            plan.add(mlx5(Row.EMPTY_POLL, arena, 1));
        }
        return plan;
    }

    /** Returns the rows that the tests run. */
    static List<Case> brief() {
        List<Case> plan = new ArrayList<>();
        plan.add(confined(Row.PROGRAM, PROGRAM_FRAMES));
        plan.addAll(shallow());
        for (Row row : List.of(Row.SINGLE, Row.POST_POLL, Row.TWO_DRIVERS, Row.TWO_DRIVERS_SINGLE)) {
            plan.add(confined(row, DEEP));
        }
        plan.addAll(shared());
        plan.add(plain());
        plan.add(withBarrier());
        plan.add(mlx5(Row.POST_POLL, ArenaKind.CONFINED, 1));
        plan.add(mlx5(Row.POST_POLL, ArenaKind.CONFINED, DEEP));
        plan.add(mlx5(Row.BATCH_16, ArenaKind.CONFINED, 1));
        return plan;
    }

    private static Case mlx5(Row row, ArenaKind arena, int frames) {
        Target target = Target.NONE;
        if (arena == ArenaKind.CONFINED) {
            target = switch (row) {
                case POST_POLL -> Target.ratio(frames == 1 ? 1.00 : 1.10);
                case BATCH_16 -> frames == 1 ? Target.ratio(0.95) : Target.NONE;
                default -> Target.NONE;
            };
        }
        return new Case(Profile.MLX5, row, arena, Calls.BY_DRIVER, frames, target);
    }

    /** Returns all rows with one driver that the stub has, with callers of one frame. */
    private static List<Case> shallow() {
        return Stream.of(Row.values())
                .filter(row -> row.ordinal() <= Row.EXTENDED_BATCH.ordinal())
                .filter(row -> !row.is(Row.Kind.TWO_DRIVERS))
                .map(row -> confined(row, 1))
                .toList();
    }

    private static List<Case> shared() {
        Target target = new Target(Measure.OVER_CONFINED, SHARED_NANOS);
        return Stream.of(Row.POST_POLL, Row.SINGLE, Row.BATCH_16_SLICES, Row.EMPTY_POLL)
                .map(row -> new Case(Profile.LEAN, row, ArenaKind.SHARED, Calls.CRITICAL, 1, target))
                .toList();
    }

    private static Case withBarrier() {
        return new Case(Profile.LEAN, Row.POST_POLL, ArenaKind.CONFINED, Calls.PLAIN_BARRIER, 1, Target.ratio(1.45));
    }

    private static Case plain() {
        Target target = new Target(Measure.OVER, 17);
        return new Case(Profile.LEAN, Row.POST_POLL, ArenaKind.CONFINED, Calls.PLAIN, 1, target);
    }

    private static Case confined(Row row, int frames) {
        return new Case(Profile.LEAN, row, ArenaKind.CONFINED, Calls.CRITICAL, frames, target(row, frames));
    }

    private static Target target(Row row, int frames) {
        if (row.is(Row.Kind.TWO_DRIVERS)) {
            return new Target(Measure.TO_ONE_DRIVER, 1.05);
        }
        if (frames == DEEP) {
            return switch (row) {
                case POST_POLL -> Target.ratio(1.45);
                case SINGLE, PROGRAM -> Target.ratio(1.60);
                default -> Target.NONE;
            };
        }
        return switch (row) {
            case POST_POLL -> Target.ratio(1.25);
            case SINGLE, REBUILT -> Target.ratio(1.20);
            case BATCH_16_SLICES -> Target.ratio(1.25);
            case BATCH_16_ONE_QUEUE -> Target.ratio(1.35);
            case BATCH_16 -> Target.ratio(1.10);
            case RECEIVE -> Target.ratio(1.30);
            case EMPTY_POLL -> Target.ratio(1.85);
            case EXTENDED_QUEUE -> Target.ratio(1.60);
            case EXTENDED_PAIR -> Target.ratio(1.40);
            default -> Target.NONE;
        };
    }
}

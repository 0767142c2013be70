package dev.verbena.walk;

import dev.verbena.VerbsException;
import dev.verbena.walk.Node.ArenaNode;
import dev.verbena.walk.Node.RegionNode;
import dev.verbena.walk.Node.Thing;
import java.util.ArrayList;
import java.util.List;

/** Steps that close objects and arenas, in any order. */
final class Closing {
    private Closing() {}

    static void object(World world, Step step) {
        Thing thing = world.needThing(step.a(), step.actor());
        // not too many refusals
        World.skipIf(step.b() % 3 == 0 && !(thing.dependents.isEmpty()) || !Settling.takeAll(world, step.actor()));
        close(world, step, thing);
    }

    /** Closes an object; returns false if that was refused, as it must be. */
    static boolean close(World world, Step step, Thing thing) {
        world.say(step, () -> thing + ".close()");
        Faults faults = new Faults(step.actor()).mayUse(thing);
        if (thing.open) { // closing twice does nothing
            faults.busy(thing, thing.dependents);
            faults.when(isBound(world, thing), VerbsException.class, thing, " has a bound window");
        }
        boolean closed = world.run(faults, thing.object::close);
        if (closed && thing.open) {
            world.died(thing);
        }
        return closed;
    }

    private static boolean isBound(World world, Thing thing) {
        return thing instanceof RegionNode
                && world.windows.stream().anyMatch(window -> window.open && window.bound == thing);
    }

    static void arena(World world, Step step) {
        ArenaNode arena = world.need(world.arenas, step.a(), step.actor());
        // else few objects become old
        World.skipIf(
                arena.open && step.b() % 4 != 0 && !arena.things.isEmpty() || !Settling.takeAll(world, step.actor()));
        close(world, step, arena);
    }

    /** Closes an arena; returns false if that was refused, as it must be. */
    static boolean close(World world, Step step, ArenaNode arena) {
        world.say(step, () -> arena + ".close()");
        Faults faults = new Faults(step.actor()).needs(arena);
        List<Thing> closing = new ArrayList<>();
        boolean stays = false;
        if (arena.open) {
            faults.busy(arena, foreign(arena, arena));
            for (Thing thing : arena.things) {
                faults.busy(thing, foreign(arena, thing));
            }
            if (faults.isEmpty()) {
                stays = !destroyAll(world, arena, closing);
                faults.when(stays, VerbsException.class, arena, " owns a region with a window of another arena");
            }
        }
        boolean closed = world.run(faults, arena.arena::close);
        closing.forEach(world::died);
        if (closed) {
            world.arenaDied(arena);
        }
        return closed;
    }

    private static List<Thing> foreign(ArenaNode arena, Node node) {
        return node.dependents.stream().filter(each -> each.arena != arena).toList();
    }

    /**
     * Predicts which objects an arena destroys, the youngest first.
     *
     * @return false if C refuses to destroy one
     */
    private static boolean destroyAll(World world, ArenaNode arena, List<Thing> closing) {
        for (Thing thing : arena.things.reversed()) {
            if (!destroy(world, arena, thing, closing)) {
                return false;
            }
        }
        return true;
    }

    private static boolean destroy(World world, ArenaNode arena, Thing thing, List<Thing> closing) {
        if (thing instanceof RegionNode region) {
            region.remembered.stream()
                    .filter(window -> window.arena == arena && !closing.contains(window))
                    .forEach(closing::add);
        }
        for (Thing dependent : thing.dependents.reversed()) {
            if (!closing.contains(dependent) && !destroy(world, arena, dependent, closing)) {
                return false;
            }
        }
        if (closing.contains(thing)) {
            return true;
        }
        if (thing instanceof RegionNode
                && world.windows.stream()
                        .anyMatch(window -> window.open && window.bound == thing && !closing.contains(window))) {
            return false;
        }
        closing.add(thing);
        return true;
    }
}

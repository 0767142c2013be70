package dev.verbena;

import dev.verbena.internal.Deadline;
import dev.verbena.internal.Errno;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when an object can't be closed because others depend on it, or because a thread is in a call that uses it for long.
 * The object stays open and can be closed later.
 */
public class ResourceBusyException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final transient List<Object> dependents;

    /**
     * Creates an exception for an object that is still in use.
     *
     * @param what the object that was to be closed
     * @param dependents the objects that depend on it
     */
    public ResourceBusyException(Object what, List<?> dependents) {
        super(
                "close",
                what.toString(),
                Errno.EBUSY,
                "Still in use by " + inWords(dependents) + ": close " + (dependents.size() == 1 ? "it" : "them")
                        + " first, or close the arena that owns all of them");
        this.dependents = List.copyOf(dependents);
    }

    /**
     * Creates an exception for an object that a thread uses.
     *
     * @param what the object that was to be closed
     * @param user the thread; null if it is unknown
     * @param waited the time that the close has waited for the thread
     */
    public ResourceBusyException(Object what, @Nullable Thread user, Duration waited) {
        super(
                "close",
                what.toString(),
                Errno.EBUSY,
                (user == Thread.currentThread()
                                ? "This thread is in a call that uses it"
                                : (user == null ? "A thread" : "Thread '" + user.getName() + "'")
                                        + " has been in a call that uses it for more than "
                                        + Deadline.milliseconds(waited) + " ms")
                        + ": close again once the call has ended. A thread whose stack overflowed in a call may stay in"
                        + " the call until the thread ends");
        this.dependents = List.of();
    }

    private static String inWords(List<?> dependents) {
        int shown = Math.min(dependents.size(), 5);
        String names = String.join(
                ", ",
                dependents.subList(0, shown).stream().map(Object::toString).toList());
        return dependents.size() == shown ? names : names + " and " + (dependents.size() - shown) + " more";
    }

    /**
     * Returns the objects that depend on the object.
     *
     * @return the dependents, the oldest first; empty if a thread uses it, and on a deserialised exception
     */
    public List<Object> dependents() {
        return dependents == null ? List.of() : dependents;
    }
}

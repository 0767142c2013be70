package dev.verbena;

import dev.verbena.internal.Errno;
import java.util.List;

/** An object can't be closed because others still depend on it. It stays open, and closing can be tried again. */
public class ResourceBusyException extends VerbsException {
    private static final long serialVersionUID = 1L;

    private final transient List<Object> dependents;

    /**
     * Makes an exception for an object that is still in use.
     *
     * @param what the object that was to be closed
     * @param dependents what depends on it
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

    private static String inWords(List<?> dependents) {
        int shown = Math.min(dependents.size(), 5);
        String names = String.join(
                ", ",
                dependents.subList(0, shown).stream().map(Object::toString).toList());
        return dependents.size() == shown ? names : names + " and " + (dependents.size() - shown) + " more";
    }

    /**
     * What still depends on the object.
     *
     * @return the objects, in the order in which they were made; empty on a deserialised exception
     */
    public List<Object> dependents() {
        return dependents == null ? List.of() : dependents;
    }
}

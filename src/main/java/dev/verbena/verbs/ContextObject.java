package dev.verbena.verbs;

import dev.verbena.VerbsObject;
import dev.verbena.internal.lifetime.ObjectLifetime;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** An object that C makes of a context, and destroys with a function of its own. */
abstract class ContextObject extends VerbsObject {
    final ObjectLifetime lifetime;
    final Context context;

    /** The struct of C. Hold this object while C uses it. */
    final long address;

    @SuppressWarnings("this-escape") // the lifetime calls the function later
    ContextObject(ObjectLifetime lifetime, Context context, long address) {
        super(lifetime);
        this.lifetime = lifetime;
        this.context = context;
        this.address = address;
        lifetime.destroyedBy(() -> destroy()); // the JDK has archived the form of this, not of this::destroy
    }

    /** Returns those objects that are not null. */
    static List<ContextObject> present(@Nullable ContextObject... objects) {
        List<ContextObject> present = new ArrayList<>();
        for (ContextObject object : objects) {
            if (object != null) {
                present.add(object);
            }
        }
        return present;
    }

    /**
     * Checks that this object is of a context: C takes others, and some drivers follow their pointers. Two contexts may stand
     * for one in C.
     *
     * @param user the object that is made of the context and will use this one, in words
     */
    final void checkIn(Context wanted, String user) {
        if (context.address() != wanted.address()) {
            throw new IllegalArgumentException(
                    this + " belongs to another context than " + user + ": make both in one context");
        }
    }

    /** Checks that objects are of a context: see {@link #checkIn(Context, String)}. */
    static void checkIn(Context wanted, String user, List<ContextObject> objects) {
        for (ContextObject object : objects) {
            object.checkIn(wanted, user);
        }
    }

    /** Has C destroy the struct. */
    abstract void destroy();

    /**
     * Returns the context that this object was made from.
     *
     * @return the context
     */
    public final Context context() {
        lifetime.checkOpen();
        return context;
    }

    /** Returns the struct of C. Hold this object while C uses it. */
    final long address() {
        return address;
    }
}

package dev.verbena.internal;

import java.lang.reflect.Field;
import java.util.LinkedHashMap;
import java.util.Map;

/** The functions of C that the library finds by name: constants of classes that other packages can't name. */
public enum NamedFunctions {
    VERBS("internal.Ibv"),
    CM("cm.RdmaCm"),
    SOCKETS("sockets.Rsocket");

    private final String type;

    NamedFunctions(String type) {
        this.type = type;
    }

    /** Returns the functions by the names of their constants. */
    public Map<String, CFunction> all() throws ReflectiveOperationException {
        Map<String, CFunction> all = new LinkedHashMap<>();
        for (Field field : Class.forName("dev.verbena." + type).getDeclaredFields()) {
            field.setAccessible(true);
            if (field.get(null) instanceof CFunction function) {
                all.put(field.getName(), function);
            }
        }
        return all;
    }
}

package dev.verbena.docs;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** The programs in the README: the first, and the others by their names. */
final class FirstProgram {
    static final String NAME = "ReadRemoteMemory";

    private FirstProgram() {}

    static String source() throws IOException {
        return source(NAME);
    }

    private static String source(String name) throws IOException {
        Matcher program =
                Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(Files.readString(Path.of("README.md")));
        while (program.find()) {
            if (program.group(1).contains("public class " + name + " ")) {
                return program.group(1);
            }
        }
        throw new AssertionError("The README has no program " + name);
    }

    /** Compiles the program and returns the compiler's errors and warnings. */
    static String compile(Path classes) throws IOException {
        return compile(NAME, classes);
    }

    static String compile(String name, Path classes) throws IOException {
        String source = source(name);
        JavaFileObject file =
                new SimpleJavaFileObject(URI.create("string:///" + name + ".java"), JavaFileObject.Kind.SOURCE) {
                    @Override
                    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                        return source;
                    }
                };
        StringWriter said = new StringWriter();
        List<String> options = List.of(
                "-d",
                classes.toString(),
                "-cp",
                System.getProperty("java.class.path"),
                "-proc:none",
                "-Xlint:all,-path,-classfile",
                "-Werror");
        boolean compiled = ToolProvider.getSystemJavaCompiler()
                .getTask(said, null, null, options, null, List.of(file))
                .call();
        return compiled ? "" : "not compiled: " + said;
    }
}

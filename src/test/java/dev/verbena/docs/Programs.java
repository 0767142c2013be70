package dev.verbena.docs;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.commonmark.node.FencedCodeBlock;

/** The whole programs in the README and the chapters. */
final class Programs {
    static final String FIRST = "ReadRemoteMemory";

    private static final Pattern WHOLE =
            Pattern.compile("^import .*^public class (\\w+) ", Pattern.MULTILINE | Pattern.DOTALL);

    private Programs() {}

    /** Returns the blocks of Java code in a chapter. */
    static Stream<String> blocks(Chapter chapter) {
        return chapter.nodes(FencedCodeBlock.class).stream()
                .filter(block -> block.getInfo().equals("java"))
                .map(FencedCodeBlock::getLiteral);
    }

    /** Returns the name of the class if a block is a whole program, and else an empty text. */
    static String name(String block) {
        Matcher program = WHOLE.matcher(block);
        return program.find() ? program.group(1) : "";
    }

    static String source(String name) throws IOException {
        return Chapter.all().stream()
                .flatMap(Programs::blocks)
                .filter(block -> name(block).equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError("Neither the README nor a chapter has the program " + name));
    }

    /** Compiles a program of the README or a chapter, and returns the compiler's errors and warnings. */
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

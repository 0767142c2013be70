package dev.verbena.support;

import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/** A set of Java sources, by path, that the compiler's own parser can read. Nothing is resolved or compiled. */
public final class SourceTree {
    private final SortedMap<String, String> texts = new TreeMap<>();

    /** Reads all Java sources below the folders. */
    public static SourceTree below(Path... folders) {
        SourceTree tree = new SourceTree();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file :
                        files.filter(path -> path.toString().endsWith(".java")).toList()) {
                    tree.texts.put(file.toString(), Files.readString(file));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return tree;
    }

    /** Returns one source made by a test. Further ones are added with {@link #and}. */
    public static SourceTree of(String path, String text) {
        return new SourceTree().and(path, text);
    }

    /** Adds a source. */
    public SourceTree and(String path, String text) {
        texts.put(path, text);
        return this;
    }

    /** Returns the text of each source, by its path. */
    public SortedMap<String, String> texts() {
        return texts;
    }

    /** Parses all sources and hands each one over. The trees give access to positions and doc comments. */
    public void parse(BiConsumer<DocTrees, CompilationUnitTree> action) {
        List<JavaFileObject> files = new ArrayList<>();
        texts.forEach((path, text) -> files.add(new Source(path, text)));
        StringWriter errors = new StringWriter();
        JavacTask task = (JavacTask)
                ToolProvider.getSystemJavaCompiler().getTask(errors, null, null, List.of("-proc:none"), null, files);
        DocTrees trees = DocTrees.instance(task);
        try {
            for (CompilationUnitTree unit : task.parse()) {
                action.accept(trees, unit);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (!errors.toString().isEmpty()) {
            throw new AssertionError(errors.toString());
        }
    }

    /** Returns the path under which a parsed source was added. */
    public static String pathOf(CompilationUnitTree unit) {
        return unit.getSourceFile().toUri().getPath().substring(1);
    }

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String path, String text) {
            super(URI.create("source:///" + path), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }
}

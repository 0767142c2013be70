package dev.verbena.docs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The versions in the project's files. */
public final class Versions {
    private static final Pattern OF_POM = Pattern.compile("<version>(.*?)</version>");

    private Versions() {}

    /** Returns the version of the project that is being built. */
    public static String ofPom() throws IOException {
        return first(OF_POM, Path.of("pom.xml"));
    }

    /** Returns the first group of the first match in a file. */
    static String first(Pattern pattern, Path file) throws IOException {
        Matcher matcher = pattern.matcher(Files.readString(file));
        if (!matcher.find()) {
            throw new AssertionError("no " + pattern + " in " + file);
        }
        return matcher.group(1);
    }
}

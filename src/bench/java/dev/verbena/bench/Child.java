package dev.verbena.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Starts a JVM for each measurement, on one core if not told otherwise. */
final class Child {
    private static final String OPERATIONS = "16000";
    /** A round on the adapter without hardware takes longer: two processors hand over to each other. */
    private static final String FEW_OPERATIONS = "1024";

    private static final String GID_INDEX = "0";
    private static final String TIMES = "times ";

    private final Path stubs;
    private final int core;

    /** Makes a starter for the folder of the stub providers and a core. */
    Child(Path stubs, int core) {
        this.stubs = stubs;
        this.core = core;
    }

    /** Measures one row: "verbena", "bare" for bare calls, or "domain" for C with a thread domain. */
    Figures measure(Case one, String subject, int warm, int rounds) throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(one.calls().options());
        options.add("-Xms256m");
        List<String> output = run(
                one.profile(),
                options,
                Measurement.class.getName(),
                one.row().key(),
                one.arena().key(),
                folder(one.profile()).resolve("twin.so").toString(),
                Integer.toString(warm),
                Integer.toString(rounds),
                one.profile() == Case.Profile.MLX5 ? FEW_OPERATIONS : OPERATIONS,
                GID_INDEX,
                Integer.toString(one.frames()),
                subject,
                one.isHeld() ? "held" : "");
        for (String line : output) {
            String[] words = line.split(" ");
            if (words.length == 6 && words[0].equals("measured")) {
                return new Figures(
                        Double.parseDouble(words[1]),
                        Double.parseDouble(words[2]),
                        Double.parseDouble(words[3]),
                        Double.parseDouble(words[4]),
                        Double.parseDouble(words[5]));
            }
        }
        throw new IOException(one + " measured nothing:\n" + String.join("\n", output));
    }

    /** A process that has ended: its output, and the processors' time that it took. */
    record Ended(List<String> output, double processorMillis) {}

    /** Runs a program on a stub provider and returns its output. */
    List<String> run(Case.Profile profile, List<String> options, String program, String... arguments)
            throws IOException, InterruptedException {
        return run(profile, onOneCore(), command(profile, options, program, arguments))
                .output();
    }

    /**
     * Runs a program as {@link #run} does, and measures the processors' time by the shell's {@code time}.
     *
     * @param oneCore false to run the program on all cores
     */
    Ended runAndMeasure(Case.Profile profile, List<String> options, String program, boolean oneCore)
            throws IOException, InterruptedException {
        List<String> prefix =
                new ArrayList<>(List.of("bash", "-c", "TIMEFORMAT='" + TIMES + "%U %S'; time \"$@\"", "bash"));
        if (oneCore) {
            prefix.addAll(onOneCore());
        }
        return run(profile, prefix, command(profile, options, program));
    }

    private List<String> onOneCore() {
        return List.of("taskset", "-c", Integer.toString(core));
    }

    private List<String> command(Case.Profile profile, List<String> options, String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                profile == Case.Profile.LEAN
                        ? "-Ddev.verbena.libibverbs=" + folder(profile).resolve("libibverbs.so.1")
                        : "-Ddev.verbena.libibverbs=libibverbs.so.1",
                "-cp",
                System.getProperty("java.class.path")));
        command.addAll(options);
        command.add(program);
        command.addAll(List.of(arguments));
        return command;
    }

    private Ended run(Case.Profile profile, List<String> prefix, List<String> program)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(program);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        if (profile == Case.Profile.MLX5) {
            Path folder = folder(profile);
            builder.environment().put("SYSFS_PATH", folder.resolve("sysfs").toString());
            builder.environment()
                    .put("LD_PRELOAD", folder.resolve("libadapter.so").toString());
        }
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " failed:\n" + output);
        }
        double millis = 0;
        for (String line : output.lines().toList()) {
            if (line.startsWith(TIMES)) {
                for (String seconds : line.substring(TIMES.length()).split(" ")) {
                    millis += 1000 * Double.parseDouble(seconds);
                }
            }
        }
        return new Ended(output.lines().toList(), millis);
    }

    private Path folder(Case.Profile profile) {
        return stubs.resolve(profile.key());
    }
}

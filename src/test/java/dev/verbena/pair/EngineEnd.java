package dev.verbena.pair;

import java.util.Arrays;

/** A role that starts and kills programs of an {@link Engine}: the test's first lines are its name and its way. */
final class EngineEnd implements Role {
    @Override
    public void play(Conversation test) throws Exception {
        test.within(Engine.LIMIT);
        try (Engine engine = new Engine(test.next(), test.next())) {
            for (String line = test.next(); !line.equals(PeerDriver.END); line = test.next()) {
                String[] words = line.split(" ");
                String[] program = Arrays.copyOfRange(words, 1, words.length);
                switch (words[0]) {
                    case "start" -> engine.start(program);
                    case "preload" -> engine.preload(program);
                    case "await" -> engine.await(line.substring("await ".length()));
                    case "run" -> engine.start(program).waitFor();
                    case "destroy" -> engine.kill();
                    case "tcp" -> {}
                    default -> throw new IllegalArgumentException(line);
                }
                test.say("" + Engine.tcpSockets());
            }
        }
    }
}

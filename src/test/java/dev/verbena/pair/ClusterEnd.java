package dev.verbena.pair;

/** A role that starts a member of a cluster, and passes it what the test asks. */
final class ClusterEnd implements Role {
    static final String KILL = "kill the member";

    @Override
    public void play(Conversation test) throws Exception {
        try (ClusterProcess member = new ClusterProcess().started()) {
            test.say("started");
            for (String line = test.next(); !line.equals(KILL); line = test.next()) {
                test.say(member.ask(line));
            }
        }
        test.say("killed");
        test.next();
    }
}

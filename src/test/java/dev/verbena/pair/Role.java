package dev.verbena.pair;

/** The part of a test that runs in the other guest. Its class has a constructor without parameters. */
interface Role {
    /** Plays the part. A failure fails the test. */
    void play(Conversation test) throws Exception;
}

package dev.verbena.verbs;

import dev.verbena.NativeValue;

/** The step of {@code ibv_rereg_mr} that failed ({@code enum ibv_rereg_mr_err_code}). */
enum RegionChangeError implements NativeValue {
    INPUT(-1, "IBV_REREG_MR_ERR_INPUT"),
    DONT_FORK_NEW(-2, "IBV_REREG_MR_ERR_DONT_FORK_NEW"),
    DO_FORK_OLD(-3, "IBV_REREG_MR_ERR_DO_FORK_OLD"),
    COMMAND(-4, "IBV_REREG_MR_ERR_CMD"),
    COMMAND_AND_DO_FORK_NEW(-5, "IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW"),
    UNKNOWN(0, "");

    private static final RegionChangeError[] VALUES = values();

    private final int code;
    private final String cName;

    RegionChangeError(int code, String cName) {
        this.code = code;
        this.cName = cName;
    }

    @Override
    public int code() {
        return code;
    }

    @Override
    public String cName() {
        return cName;
    }

    public static RegionChangeError of(int code) {
        return NativeValue.find(VALUES, code, UNKNOWN);
    }
}

# SPDX-License-Identifier: Apache-2.0
# -- what stands from here on is of the maker `helion`: once a call has returned, its search's log is printed, since the folder
# that it is in goes with the process


def _told(forward):
    import csv
    import io
    import os
    import time
    room = 40000  # characters: a worker's text has little more

    def last_rows(path):
        """Each configuration's last row: those before say that it was begun."""
        rows = {}
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                key = row.get("run_id"), row.get("config_id") or row.get("config_index") or len(rows)
                rows.pop(key, None)  # in the order of their ends
                rows[key] = row
        return list(rows.values())

    def milliseconds(row):
        """A configuration's time; infinite, if it has none."""
        try:
            return float(row["perf_ms"]) if row["status"] in ("ok", "success") else float("inf")
        except (TypeError, ValueError):
            return float("inf")

    def picked():
        """The configurations that the file's kernels have now. A search times its fastest once more when all are tried, in turn,
        which no row says, and may pick another one than the fastest of its rows."""
        kernels = [value for value in globals().values() if hasattr(value, "_bound_kernels")]
        return {str(bound._config) for kernel in kernels for bound in kernel._bound_kernels.values()}

    def line(row, status, config):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(
            [(row.get("run_id") or "")[:6], row["timestamp_s"], status, row["perf_ms"], row["compile_time_s"], config])
        return text.getvalue()

    def shortened(rows, seconds):
        """A row a configuration. Those that were faster than all before are written out, as long as there is room; then which
        one was chosen, after so many seconds, if there was one search: what comes after its last row costs as well."""
        kept, searches = picked(), {row.get("run_id") for row in rows}
        lines = ["run_id,timestamp_s,status,perf_ms,compile_time_s,config\n"]
        whole, short = room // 2, room // 2  # characters for those that are written out, and for the others
        for i, row in enumerate(rows):
            if i == 0 or row.get("run_id") != rows[i - 1].get("run_id"):
                best = choice = None
            better = milliseconds(row) < (milliseconds(best) if best else float("inf"))
            best = row if better else best
            choice = row if row["config"] in kept else choice
            if better and len(row["config"]) < whole:
                lines.append(line(row, row["status"], row["config"]))
                whole -= len(lines[-1])
            elif short > 0:
                lines.append(line(row, row["status"], (row.get("config_id") or str(i))[:6]))
                short -= len(lines[-1])
            if best and (i + 1 == len(rows) or rows[i + 1].get("run_id") != row.get("run_id")):
                at = max(float(row["timestamp_s"]), seconds) if len(searches) == 1 else float(row["timestamp_s"])
                choice = choice or best
                lines.append(line({**choice, "timestamp_s": f"{at:.2f}"}, "chosen", choice["config"]))
        return "".join(lines)

    def told(self, *tensors):
        start = time.monotonic()
        result, path = forward(self, *tensors), os.environ["HELION_AUTOTUNE_LOG"] + ".csv"
        seconds = time.monotonic() - start
        if os.path.exists(path):
            try:
                text = shortened(last_rows(path), seconds)
            except (AttributeError, csv.Error, KeyError, TypeError, ValueError):  # the log is of another version
                with open(path, errors="replace") as file:
                    text = file.read(room)
            print(text, flush=True)
            os.remove(path)
        return result
    return told


ModelNew.forward = _told(ModelNew.forward)

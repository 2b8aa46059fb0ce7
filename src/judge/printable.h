// Text that a candidate has had a hand in, before it goes to a terminal or into JSON.
#ifndef JUDGE_PRINTABLE_H
#define JUDGE_PRINTABLE_H

// Replaces in place what is neither printable nor a line's end or a tab: control characters (terminals obey them, the
// C1 range included) and bytes that are no UTF-8 (JSON has no place for them).
void printable(char *text);

#endif

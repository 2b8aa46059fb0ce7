// SPDX-License-Identifier: Apache-2.0
// The one writer of HTML and SVG. Nothing that a stranger wrote reaches a page but through it: elements and attributes
// are enumerators, all text is escaped, attributes that hold addresses take an address (report/address.h) and never a
// string, and there is no call that writes bytes as they are. Scripts and styles are fixed files of their own.
//
// What a reader's browser shows is the text given, with these exceptions, so that no text can hide or reorder another:
//   bytes that are not UTF-8, control characters (but tab and line feed), U+FFFE and U+FFFF   U+FFFD, one for each
//   carriage return before a line feed                                                       left out
//   marks of direction, and what else misleads or shows nothing (base/printable.h)            "[U+202E]"
//
// Using it wrongly is a bug of ours and asserted: closing what is not open, an attribute after content or twice, text
// in a script, an address as a string. Running out of memory is sticky in the buffer: ask buf_status() at the end.
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "report/address.h"

// X(enumerator, name, kind). Kinds: INLINE, BLOCK (a line ends after it), VOID (no content), MARK (the same, within a
// word), FILE (no content but what its address names).
#define HTML_ELEMENTS(X)                                                                                               \
  X(HTML, "html", BLOCK)                                                                                               \
  X(HEAD, "head", BLOCK)                                                                                               \
  X(META, "meta", VOID)                                                                                                \
  X(LINK, "link", VOID)                                                                                                \
  X(SCRIPT, "script", FILE)                                                                                            \
  X(TITLE, "title", BLOCK)                                                                                             \
  X(BODY, "body", BLOCK)                                                                                               \
  X(HEADER, "header", BLOCK)                                                                                           \
  X(NAV, "nav", BLOCK)                                                                                                 \
  X(MAIN, "main", BLOCK)                                                                                               \
  X(FOOTER, "footer", BLOCK)                                                                                           \
  X(SECTION, "section", BLOCK)                                                                                         \
  X(FIGURE, "figure", BLOCK)                                                                                           \
  X(FIGCAPTION, "figcaption", BLOCK)                                                                                   \
  X(DETAILS, "details", BLOCK)                                                                                         \
  X(SUMMARY, "summary", BLOCK)                                                                                         \
  X(DIV, "div", BLOCK)                                                                                                 \
  X(P, "p", BLOCK)                                                                                                     \
  X(H1, "h1", BLOCK)                                                                                                   \
  X(H2, "h2", BLOCK)                                                                                                   \
  X(H3, "h3", BLOCK)                                                                                                   \
  X(OL, "ol", BLOCK)                                                                                                   \
  X(UL, "ul", BLOCK)                                                                                                   \
  X(LI, "li", BLOCK)                                                                                                   \
  X(DL, "dl", BLOCK)                                                                                                   \
  X(DT, "dt", INLINE)                                                                                                  \
  X(DD, "dd", BLOCK)                                                                                                   \
  X(PRE, "pre", BLOCK)                                                                                                 \
  X(TABLE, "table", BLOCK)                                                                                             \
  X(CAPTION, "caption", BLOCK)                                                                                         \
  X(THEAD, "thead", BLOCK)                                                                                             \
  X(TBODY, "tbody", BLOCK)                                                                                             \
  X(TR, "tr", BLOCK)                                                                                                   \
  X(TH, "th", INLINE)                                                                                                  \
  X(TD, "td", INLINE)                                                                                                  \
  X(FORM, "form", BLOCK)                                                                                               \
  X(A, "a", INLINE)                                                                                                    \
  X(SPAN, "span", INLINE)                                                                                              \
  X(CODE, "code", INLINE)                                                                                              \
  X(BDI, "bdi", INLINE)                                                                                                \
  X(STRONG, "strong", INLINE)                                                                                          \
  X(EM, "em", INLINE)                                                                                                  \
  X(SUB, "sub", INLINE)                                                                                                \
  X(ABBR, "abbr", INLINE)                                                                                              \
  X(BUTTON, "button", INLINE)                                                                                          \
  X(LABEL, "label", INLINE)                                                                                            \
  X(INPUT, "input", VOID)                                                                                              \
  X(BR, "br", VOID)                                                                                                    \
  X(WBR, "wbr", MARK)                                                                                                  \
  X(SVG, "svg", BLOCK)                                                                                                 \
  X(DESC, "desc", BLOCK)                                                                                               \
  X(G, "g", BLOCK)                                                                                                     \
  X(PATH, "path", BLOCK)                                                                                               \
  X(LINE, "line", BLOCK)                                                                                               \
  X(RECT, "rect", BLOCK)                                                                                               \
  X(CIRCLE, "circle", BLOCK)                                                                                           \
  X(POLYGON, "polygon", BLOCK)                                                                                         \
  X(TEXT, "text", INLINE)                                                                                              \
  X(TSPAN, "tspan", INLINE)

enum html_element {
#define HTML_ELEMENT_ID(id, name, kind) EL_##id,
  HTML_ELEMENTS(HTML_ELEMENT_ID)
#undef HTML_ELEMENT_ID
      HTML_N_ELEMENTS
};

// X(enumerator, name, kind). Kinds: PLAIN (any text), ADDRESS (only a struct address). There is no `style` and no
// `on...`: the site's policy forbids both.
#define HTML_ATTRIBUTES(X)                                                                                             \
  X(ID, "id", PLAIN)                                                                                                   \
  X(CLASS, "class", PLAIN)                                                                                             \
  X(LANG, "lang", PLAIN)                                                                                               \
  X(DIR, "dir", PLAIN)                                                                                                 \
  X(TITLE, "title", PLAIN)                                                                                             \
  X(NAME, "name", PLAIN)                                                                                               \
  X(CONTENT, "content", PLAIN)                                                                                         \
  X(CHARSET, "charset", PLAIN)                                                                                         \
  X(HTTP_EQUIV, "http-equiv", PLAIN)                                                                                   \
  X(REL, "rel", PLAIN)                                                                                                 \
  X(TYPE, "type", PLAIN)                                                                                               \
  X(DEFER, "defer", PLAIN)                                                                                             \
  X(HREF, "href", ADDRESS)                                                                                             \
  X(SRC, "src", ADDRESS)                                                                                               \
  X(DOWNLOAD, "download", PLAIN)                                                                                       \
  X(HIDDEN, "hidden", PLAIN)                                                                                           \
  X(OPEN, "open", PLAIN)                                                                                               \
  X(TABINDEX, "tabindex", PLAIN)                                                                                       \
  X(ROLE, "role", PLAIN)                                                                                               \
  X(SCOPE, "scope", PLAIN)                                                                                             \
  X(COLSPAN, "colspan", PLAIN)                                                                                         \
  X(FOR, "for", PLAIN)                                                                                                 \
  X(VALUE, "value", PLAIN)                                                                                             \
  X(PLACEHOLDER, "placeholder", PLAIN)                                                                                 \
  X(AUTOCOMPLETE, "autocomplete", PLAIN)                                                                               \
  X(ARIA_LABEL, "aria-label", PLAIN)                                                                                   \
  X(ARIA_LABELLEDBY, "aria-labelledby", PLAIN)                                                                         \
  X(ARIA_CURRENT, "aria-current", PLAIN)                                                                               \
  X(ARIA_HIDDEN, "aria-hidden", PLAIN)                                                                                 \
  X(ARIA_SORT, "aria-sort", PLAIN)                                                                                     \
  X(DATA_V, "data-v", PLAIN)                                                                                           \
  X(DATA_TABLE, "data-table", PLAIN)                                                                                   \
  X(DATA_KIND, "data-kind", PLAIN)                                                                                     \
  X(DATA_COPY, "data-copy", PLAIN)                                                                                     \
  X(DATA_ROOT, "data-root", PLAIN)                                                                                     \
  X(XMLNS, "xmlns", PLAIN)                                                                                             \
  X(VIEWBOX, "viewBox", PLAIN)                                                                                         \
  X(WIDTH, "width", PLAIN)                                                                                             \
  X(HEIGHT, "height", PLAIN)                                                                                           \
  X(X, "x", PLAIN)                                                                                                     \
  X(Y, "y", PLAIN)                                                                                                     \
  X(X1, "x1", PLAIN)                                                                                                   \
  X(Y1, "y1", PLAIN)                                                                                                   \
  X(X2, "x2", PLAIN)                                                                                                   \
  X(Y2, "y2", PLAIN)                                                                                                   \
  X(CX, "cx", PLAIN)                                                                                                   \
  X(CY, "cy", PLAIN)                                                                                                   \
  X(R, "r", PLAIN)                                                                                                     \
  X(RX, "rx", PLAIN)                                                                                                   \
  X(D, "d", PLAIN)                                                                                                     \
  X(POINTS, "points", PLAIN)                                                                                           \
  X(TRANSFORM, "transform", PLAIN)                                                                                     \
  X(TEXT_ANCHOR, "text-anchor", PLAIN)                                                                                 \
  X(FOCUSABLE, "focusable", PLAIN)

enum html_attribute {
#define HTML_ATTRIBUTE_ID(id, name, kind) AT_##id,
  HTML_ATTRIBUTES(HTML_ATTRIBUTE_ID)
#undef HTML_ATTRIBUTE_ID
      HTML_N_ATTRIBUTES
};

enum { HTML_MAX_DEPTH = 64, HTML_WORD_BITS = 64 };

// Set up by html_page() or html_part(); the caller owns it, and nothing in it needs to be released.
struct html {
  struct buf *out; // borrowed
  int folders;     // how deep below the site's root the page lies: addresses are relative
  int depth;
  unsigned char stack[HTML_MAX_DEPTH];                                            // elements that are open
  bool in_tag;                                                                    // attributes may follow
  uint64_t attributes[(HTML_N_ATTRIBUTES + HTML_WORD_BITS - 1) / HTML_WORD_BITS]; // those of the tag
};

// Begins a document that will lie where the address says: writes the doctype. html_part begins a piece of one, or an
// SVG.
void html_page(struct html *w, struct buf *out, const struct address *here);
void html_part(struct html *w, struct buf *out, const struct address *here);

// Whether all that was opened is closed.
bool html_is_whole(const struct html *w);

// Opens an element. Void ones have no end and are not closed.
void html_open(struct html *w, enum html_element e);
// Closes the innermost element, which must be this one.
void html_close(struct html *w, enum html_element e);

// Attributes, right after html_open.
void html_attr(struct html *w, enum html_attribute a, const char *value);
void html_attr_printf(struct html *w, enum html_attribute a, const char *fmt, ...) ASSAY_PRINTF(3, 4);
void html_address(struct html *w, enum html_attribute a, const struct address *to);

// Text, of n bytes, or up to its NUL.
void html_bytes(struct html *w, const char *text, size_t n);
void html_text(struct html *w, const char *text);
void html_printf(struct html *w, const char *fmt, ...) ASSAY_PRINTF(2, 3); // what comes of the format is escaped

// An element with a class (NULL: none) and a text.
void html_element(struct html *w, enum html_element e, const char *class, const char *text);
// A link with a text.
void html_link(struct html *w, const struct address *to, const char *text);

// A drawing of src/draw as the next child: `draw` appends a whole <svg> to the page, whose texts it escapes itself.
typedef void html_draw(const void *chart, struct buf *out);
void html_drawing(struct html *w, html_draw *draw, const void *chart);

// How many bytes of s (n > 0) the writer takes for one character, and what stands for it there: NULL, the bytes
// themselves. `shown` has room for 16 bytes. For those who have to know beforehand.
size_t html_character(const char *s, size_t n, char *room, const char **shown);

#endif

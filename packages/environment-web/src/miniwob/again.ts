/**
 * Pages that can be started again without being loaded anew. Random play and the oracle gave the same on such
 * a page, after other episodes, as on a fresh one. This held in every step of every tried seed. `rl web check
 * --again` makes this list. Pages that left something behind in longer play are not in it. All other pages
 * are loaded for each episode.
 */
export const AGAIN: ReadonlySet<string> = new Set(
  `ascending-numbers bisect-angle button-delay buy-ticket choose-list circle-center click-button
click-button-sequence click-checkboxes click-checkboxes-large click-checkboxes-soft click-collapsible
click-collapsible-2 click-collapsible-2-nodelay click-collapsible-nodelay click-color click-dialog
click-dialog-2 click-link click-menu click-option click-scroll-list click-shape click-tab click-tab-2
click-tab-2-easy click-tab-2-medium click-test click-test-2 click-test-transfer click-widget copy-paste
count-sides daily-calendar drag-box drag-circle drag-cube drag-shapes drag-shapes-2 drag-single-shape
email-inbox email-inbox-delete email-inbox-forward email-inbox-forward-nl
email-inbox-forward-nl-turk email-inbox-important email-inbox-nl-turk email-inbox-noscroll email-inbox-reply
enter-date enter-password enter-text enter-text-2 enter-text-dynamic find-midpoint find-word focus-text
grid-coordinate guess-number highlight-text highlight-text-2 hot-cold hover-shape login-user multi-layouts
navigate-tree odd-or-even order-food read-table resize-textarea right-angle simple-algebra simple-arithmetic
social-media social-media-some text-editor tic-tac-toe unicode-test visual-addition`.split(/\s+/),
)

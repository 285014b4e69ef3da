/** The words of our own pages. Families share them, so that a family that is never trained on speaks in known words. */
export const POOLS = {
  names:
    'anna ben carla david emma felix greta henry iris jonas karla leo mia noah olga paul rosa simon tina victor'.split(
      ' ',
    ),
  items:
    'apple bread cheese honey juice lemon milk onion pasta pepper rice soup sugar tea tomato water'.split(
      ' ',
    ),
  cities: 'berlin cairo dublin geneva havana lima madrid oslo paris prague rome tokyo'.split(' '),
  colours: 'black blue brown green orange pink red white yellow purple'.split(' '),
  labels:
    'accept archive back cancel close continue copy delete edit export finish help import next open print refresh save search send share start stop submit'.split(
      ' ',
    ),
  words:
    'bridge cloud forest garden harbour island lake meadow mountain ocean river valley window winter summer candle'.split(
      ' ',
    ),
  subjects: 'budget contract invoice lunch meeting offer party project report schedule survey ticket'.split(
    ' ',
  ),
  days: 'monday tuesday wednesday thursday friday saturday sunday'.split(' '),
  months: 'january february march april may june july august september october november december'.split(' '),
  settings:
    'alerts backup bluetooth camera cookies location microphone sounds sync updates vibration wifi'.split(
      ' ',
    ),
  tabs: 'account details history home news orders photos profile security support'.split(' '),
  languages: 'english french german italian polish spanish swedish turkish'.split(' '),
} as const

/** Words of goals, of the pages' fixed parts, and of commands. */
const FRAME_WORDS = `click type select check open follow link button buttons the tab menu dialog in this order and submit into
log with user password login choose city none colour fill name news date month day of row rows answer number largest item lowest price
set to save delete edit mail mails from about star reply send forward back archive add remove order search find for it book a flight on seat
switch off volume brightness less more language old new repeat change theme all first then same checked selected over x`

/** Every word that a small model meets on our own pages, frequent ones first. */
export function ownWords(): string[] {
  return [...new Set([...FRAME_WORDS.split(/\s+/), ...Object.values(POOLS).flat()])]
}

/** Events that tell of a role's versions: made, brought to servers, taken from them. */
export const VERSION_EVENTS = {
  policy: { updated: 'PolicyUpdated', published: 'PolicyPublished', retired: 'PolicyRetired' },
  'reward-model': {
    updated: 'RewardModelUpdated',
    published: 'RewardModelPublished',
    retired: 'RewardModelRetired',
  },
} as const

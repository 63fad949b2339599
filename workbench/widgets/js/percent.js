/** A part of the best as a percentage, rounded; only what is as good as the best has 100 %. */
export const percent = (part) => `${part < 1 ? Math.min(Math.round(part * 100), 99) : Math.round(part * 100)} %`;

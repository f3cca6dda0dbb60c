/** The types of images that the channel accepts. @module */

export const acceptedTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];
